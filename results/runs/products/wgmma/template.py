"""template.py FOLDER [part parts]: fills the wgmma template with a sample problem at many points, compiles them and lists them for template.cu."""
import ctypes as C, os, re, resource, struct, sys
T = os.environ["TOOLCHAIN"]  # the folder of the pinned compilers
C.CDLL(T + "/nvidia/cu13/lib/libnvrtc-builtins.so.13.0", mode=C.RTLD_GLOBAL)
L = C.CDLL(T + "/nvidia/cu13/lib/libnvrtc.so.13")
J = C.CDLL(T + "/nvidia/cu13/lib/libnvJitLink.so.13")
def cpu(): r = resource.getrusage(resource.RUSAGE_SELF); return r.ru_utime + r.ru_stime
def compile(src, extra=(), name="k.cu"):
    opts = ["--gpu-architecture=sm_90a", "-std=c++17", "-default-device", "-DNDEBUG", "-dlto",
        "-I" + T + "/cutlass_library/source/include", "-I" + T + "/nvidia/cu13/include", "-I" + T + "/nvidia/cu13/include/cccl"] + list(extra)
    p = C.c_void_p()
    assert L.nvrtcCreateProgram(C.byref(p), src.encode(), name.encode(), 0, None, None) == 0
    rc = L.nvrtcCompileProgram(p, len(opts), (C.c_char_p * len(opts))(*[o.encode() for o in opts]))
    n = C.c_size_t()
    L.nvrtcGetProgramLogSize(p, C.byref(n)); log = C.create_string_buffer(n.value); L.nvrtcGetProgramLog(p, log)
    if rc: return None, log.value.decode()
    L.nvrtcGetLTOIRSize(p, C.byref(n)); b = C.create_string_buffer(n.value); L.nvrtcGetLTOIR(p, b)
    h = C.c_void_p()
    jo = [b"-arch=sm_90a", b"-lto", b"-O3"] + ([b"-verbose"] if os.environ.get("V") else [])
    jo += [b"-Xptxas=-v"] if os.environ.get("V") else []
    assert J.__nvJitLinkCreate_13_0(C.byref(h), len(jo), (C.c_char_p * len(jo))(*jo)) == 0
    rc = J.__nvJitLinkAddData_13_0(h, 3, b, n, b"k")   # 2 = LTOIR
    rc = rc or J.__nvJitLinkComplete_13_0(h)
    out = log.value.decode()
    for what in ("Error", "Info"):
        s = C.c_size_t(); getattr(J, "__nvJitLinkGet%sLogSize_13_0" % what)(h, C.byref(s))
        if s.value > 1:
            t = C.create_string_buffer(s.value); getattr(J, "__nvJitLinkGet%sLog_13_0" % what)(h, t); out += t.value.decode()
    if rc: return None, out + " link %d" % rc
    J.__nvJitLinkGetLinkedCubinSize_13_0(h, C.byref(n)); c = C.create_string_buffer(n.value); J.__nvJitLinkGetLinkedCubin_13_0(h, c)
    return c.raw, out
def facts(b):
    shoff=struct.unpack_from('<Q',b,40)[0]; n,si=struct.unpack_from('<HH',b,60)
    secs=[struct.unpack_from('<IIQQQQIIQQ',b,shoff+64*i) for i in range(n)]; st=secs[si]; out=[]
    for s in secs:
        name=b[st[4]+s[0]:b.index(b'\0',st[4]+s[0])].decode()
        if name.startswith('.text.'): out.append('text %d regs %d' % (s[5], s[7]>>24))
        if name.startswith('.nv.info'):
            d=b[s[4]:s[4]+s[5]]; i=0
            while i<len(d):
                fmt,attr,sz=d[i],d[i+1],struct.unpack_from('<H',d,i+2)[0]
                if fmt==4:
                    if attr in(0x2f,0x11,0x12): out.append({0x2f:'regs',0x11:'frame',0x12:'minstack'}[attr]+' %d'%struct.unpack_from('<II',d,i+4)[1])
                    i+=4+sz
                else: i+=4
    return ', '.join(out)
HERE = os.path.dirname(os.path.abspath(__file__))
D = HERE + "/"
PRELUDES = HERE + "/../../../../cutegen-build/src/generate/template/device/"
rd=lambda f: open(PRELUDES+f).read()
def prelude():
    p=rd("prelude.cuh.in").replace("@NARROW@","true").replace("@NARROW_EXP@","true").replace("@NARROW_QUOTIENT@","true")
    return p+rd("values.cuh.in").replace("@INT@","int32_t")
DEF=dict(bm=128,bn=128,stages=4,consumers=2,pp=0,cluster=1,along_m=1,pr=40,cr=232,blocks=1,swap=0,pair=0,split=0,pdl=0,early=0,tma=0,yb=2,ck=1,sk=0,am="K",bmj="K",ab=0,bb=0,dt="bf16",kind="plain",vec=8,ha="EVICT_NORMAL",hb="EVICT_NORMAL",batches="a0",group=8)
def problem(c):
    T=c["dt"]; V=c["vec"]; k=c["kind"]; acc=min(V,8)
    loads=[]; 
    if k in ("full","int"): loads=[("bias","at.q * %d"%V,"t4 + (at.q)"),("res","(at.v1 + at.v0 * a1) * Integer(a2) + at.q * %d"%V,"t5 + ((at.v1 + at.v0 * a1) * Integer(a2) + at.q)")]
    vec="".join("    Window<%s, %d, %d> w%d;\n"%(T,V,acc,i) for i,_ in enumerate(loads))
    ptr=["t4","t5"]
    vl="".join("    r.w%d.template load<%s>(%s + %s);\n"%(i,"Load::CACHED",ptr[i],l[1]) for i,l in enumerate(loads))
    el="".join("    r.x%d = *(%s);\n"%(i,l[2]) for i,l in enumerate(loads))
    vals="".join("float x%d; "%i for i,_ in enumerate(loads))
    vv="".join("    x.x%d = r.w%d.value(j);\n"%(i,i) for i,_ in enumerate(loads))
    ev="".join("    x.x%d = to_value(r.x%d);\n"%(i,i) for i,_ in enumerate(loads))
    expr={"plain":"s0","full":"cg_gelu(s0 + x.x0) + x.x1","pair":"s0 - 2.0f * s1","int":"s0 + x.x0 + x.x1"}[k]
    return f"""struct Problem {{
  {T}* t2; {T} const* t4; {T} const* t5;
  Integer a0, a1, a2;
  CG_DEVICE Integer rows() const {{ return a0 * a1; }}
  CG_DEVICE Integer columns() const {{ return a2; }}
  struct At {{ Integer v0; Integer v1; Integer q; }};
  struct Values {{ {vals}}};
  struct Results {{ float y0; }};
  struct Vector {{
{vec}  }};
  struct Element {{ {"".join(T+" x%d; "%i for i,_ in enumerate(loads))}}};
  CG_DEVICE At at([[maybe_unused]] Integer row, Integer q) const {{ At at; at.q = q; at.v1 = remainder(row, a1); row = quotient(row, a1); at.v0 = row; return at; }}
  CG_DEVICE static At lane(At at, int j) {{ at.q = at.q * VEC + j; return at; }}
  CG_DEVICE void load([[maybe_unused]] Vector& r, [[maybe_unused]] At const& at) const {{
{vl}  }}
  CG_DEVICE void load([[maybe_unused]] Element& r, [[maybe_unused]] At const& at) const {{
{el}  }}
  CG_DEVICE Values values([[maybe_unused]] Vector const& r, [[maybe_unused]] At const& at, [[maybe_unused]] int j) const {{
    Values x;
{vv}    return x;
  }}
  CG_DEVICE Values values([[maybe_unused]] Element const& r, [[maybe_unused]] At const& at) const {{
    Values x;
{ev}    return x;
  }}
  CG_DEVICE Results results([[maybe_unused]] Values const& x, float s0{", float s1" if c["pair"] else ""}) const {{
    Results y;
    y.y0 = {expr};
    return y;
  }}
  CG_DEVICE void store(Results const (&y)[VEC], At const& at) const {{
    Window<{T}, {V}, {acc}> w0;
    w0.fill([&](int j) {{ return y[j].y0; }});
    w0.template store<STORE>(t2 + (at.v1 + at.v0 * a1) * Integer(a2) + at.q * {V});
  }}
  CG_DEVICE void store(Results const& y, At const& at) const {{ put(t2[(at.v1 + at.v0 * a1) * Integer(a2) + at.q], y.y0); }}
}};
"""
def joint(c): return c["pair"] and not c["swap"] and 2 * c["bn"] <= 256
def source(**kw):
    c=dict(DEF); c.update(kw)
    b=lambda v:"true" if v else "false"
    E="BF16" if c["dt"]=="bf16" else "F16"
    cfg=f"""template <SM90::GMMA::Major L, SM90::GMMA::Major R>
using Atom = SM90::GMMA::MMA_64x{c['bn'] * (2 if joint(c) else 1)}x16_F32{E}{E}_SS<L, R>;
constexpr auto A_MAJOR = SM90::GMMA::Major::{c['am']}, B_MAJOR = SM90::GMMA::Major::{c['bmj']};
constexpr int BM = {c['bm']}, BN = {c['bn']}, STAGES = {c['stages']}, CONSUMERS = {c['consumers']}, CLUSTER = {c['cluster']}, BLOCKS = {c['blocks']}, VEC = {c['vec']};
constexpr int PRODUCER_REGISTERS = {c['pr']}, CONSUMER_REGISTERS = {c['cr']};
constexpr int CLUSTER_K = {c["ck"]}, SMEM = {line(c)[1]};
constexpr int Y_BUFFERS = {c["yb"]};
constexpr bool PING_PONG = {b(c['pp'])}, ALONG_M = {b(c['along_m'])}, SWAP = {b(c['swap'])}, PAIR = {b(c['pair'])}, SPLIT = {b(c['split'])}, STREAM_K = {b(c['sk'])}, JOINT = {b(joint(c))};
constexpr bool PLANES = false, PDL = {b(c['pdl'])}, EARLY = {b(c['early'])}, TMA_STORE = {b(c['tma'])}, A_BATCHED = {b(c['ab'])}, B_BATCHED = {b(c['bb'])};
constexpr auto HINT_A = TMA::CacheHintSm90::{c['ha']}, HINT_B = TMA::CacheHintSm90::{c['hb']};
using Out = {c['dt']};
[[maybe_unused]] constexpr Load LOAD = Load::CACHED;
[[maybe_unused]] constexpr Store STORE = Store::CACHED;
"""
    params="const __grid_constant__ cute::TmaDescriptor map_a, const __grid_constant__ cute::TmaDescriptor map_b"
    maps="&map_a, &map_b, "
    if c["pair"]: params+=", const __grid_constant__ cute::TmaDescriptor map_b1"; maps+="&map_b1, "
    else: maps+="nullptr, "
    if c["tma"]: params+=", const __grid_constant__ cute::TmaDescriptor map_y"; maps+="&map_y"
    else: maps+="nullptr"
    T=c["dt"]
    params+=f", {T}* t2, {T} const* t4, {T} const* t5, int64_t a0, int64_t a1, int64_t a2, int64_t a3, int32_t splits, int32_t group_, float4* w0, int* w1"
    t=rd("product_wgmma.cu.in")
    sub={"HEADER":"// product","PRELUDE":prelude(),"CONFIG":cfg,"PROBLEM":problem(c),"TILES":rd("wgmma_tiles.cuh.in"),"OPERANDS":rd("wgmma_operands.cuh.in"),"FINISH":rd("wgmma_finish.cuh.in"),"PLANES":"",
      "ENTRY":"product","PARAMS":params,"EXTENTS":"int(a0), int(a1), int(a2), int(a3), splits, group_","MAPS":maps,"MEMBERS":"t2, t4, t5, Integer(a0), Integer(a1), Integer(a2)","SUMS":"w0" if c["split"] else "nullptr","COUNTERS":"w1" if c["split"] else "nullptr"}
    for k,v in sub.items(): t=t.replace("@%s@"%k,v)
    return t

def point(name, **kw):
    c = dict(DEF); c.update(kw); c["name"] = name
    return c
def points():
    """Points of the sweep, then those that only check: layouts, math, other types of clusters."""
    out = []
    for bm, bn, stages, extra in [(128, 128, 6, {}), (128, 128, 5, {}), (128, 256, 4, {}), (256, 128, 4, {}), (128, 192, 5, dict(yb=1)), (128, 208, 4, {}), (128, 224, 4, {}),
                                  (192, 128, 5, dict(consumers=3, pr=32, cr=160, yb=1)), (192, 160, 4, dict(consumers=3, pr=32, cr=160)), (192, 192, 4, dict(consumers=3, pr=32, cr=160, yb=1)),
                                  (256, 192, 3, dict(pr=24, cr=240)), (256, 160, 4, dict(yb=1)), (64, 256, 5, dict(consumers=1, pr=0)), (64, 128, 8, dict(consumers=1, pr=0)), (64, 192, 6, dict(consumers=1, pr=0))]:
        for cluster in (1, 2):
            for along in (1, 0) if cluster == 2 else (1,):
                if cluster == 2 and along == 0 and bn not in (128, 192, 256): continue
                out.append(point("c%dx%ds%d%s%s" % (bm, bn, stages, "w%d" % extra["consumers"] if "consumers" in extra else "", "" if cluster == 1 else "-2m" if along else "-2n"), bm=bm, bn=bn, stages=stages, tma=1, cluster=cluster, along_m=along, **extra))
    for bm, bn, stages, extra in [(128, 128, 6, dict(yb=2)), (128, 160, 5, {}), (128, 192, 5, dict(yb=1)), (128, 192, 4, {}), (64, 192, 6, {}), (64, 256, 5, {}), (64, 128, 8, {}), (128, 176, 5, {})]:
        for cluster in (1, 2):
            for along in (1, 0) if cluster == 2 else (1,):
                out.append(point("p%dx%ds%d%s" % (bm, bn, stages, "" if cluster == 1 else "-2m" if along else "-2n"), bm=bm, bn=bn, stages=stages, pp=1, tma=1, cluster=cluster, along_m=along, **extra))
    for bn in (8, 16, 32, 64, 128):
        for bm, consumers, blocks, kb in ((64, 1, 2, 100), (64, 1, 1, 200), (128, 2, 2, 100), (128, 2, 1, 200), (128, 1, 1, 200)):
            room = kb * 1024 - consumers * bn * 256
            stages = min(12, room // ((bm + bn) * 128))
            if stages < 3: continue
            out.append(point("s%dx%ds%dw%d%s" % (bm, bn, stages, consumers, "h" if blocks == 2 else ""), bm=bm, bn=bn, swap=1, consumers=consumers, pr=0, stages=stages, split=1, tma=1, blocks=blocks, hb="EVICT_FIRST", ha="EVICT_LAST"))
    for bn in (8, 16, 32, 64, 128):
        for bm, consumers, ck, blocks, kb in ((64, 1, 2, 1, 200), (64, 1, 2, 2, 108), (64, 1, 4, 2, 108), (128, 2, 2, 1, 220), (128, 2, 4, 1, 220), (128, 2, 4, 2, 108), (128, 2, 8, 1, 220)):
            stages = min(12, (kb * 1024 - consumers * bn * 256 - (ck - 1) * bm * bn * 4) // ((bm + bn) * 128))
            if stages < 3: continue
            out.append(point("k%dx%ds%d-%dk%s" % (bm, bn, stages, ck, "h" if blocks == 2 else ""), bm=bm, bn=bn, swap=1, consumers=consumers, pr=0, stages=stages, ck=ck, tma=1, blocks=blocks, hb="EVICT_FIRST", ha="EVICT_LAST"))
    for bn in (8, 16, 32, 64, 128):
        for bm, consumers, blocks, kb in ((64, 1, 2, 100), (64, 1, 1, 200), (128, 2, 1, 200), (128, 1, 1, 200), (128, 2, 2, 100)):
            room = kb * 1024 - consumers * bn * 256
            stages = min(12, room // ((bm + bn) * 128))
            if stages < 3: continue
            out.append(point("sk%dx%ds%dw%d%s" % (bm, bn, stages, consumers, "h" if blocks == 2 else ""), bm=bm, bn=bn, swap=1, consumers=consumers, pr=0, stages=stages, split=1, sk=1, tma=1, blocks=blocks, hb="EVICT_FIRST", ha="EVICT_LAST"))
    for bm, bn, stages in ((128, 64, 8), (128, 128, 6), (128, 256, 4)):
        out.append(point("sk%dx%ds%d" % (bm, bn, stages), bm=bm, bn=bn, stages=stages, split=1, sk=1, tma=1))
    for bn in (64, 128):
        out.append(point("split128x%d" % bn, bn=bn, stages=6 if bn == 128 else 8, split=1, tma=1))
        out.append(point("split64x%d" % bn, bm=64, bn=bn, stages=6, split=1, tma=1, consumers=1, pr=0, blocks=1))
    out += [point("nn", bmj="MN", tma=1, cluster=2), point("tn", am="MN", tma=1, pp=1), point("tt96", am="MN", bmj="MN", bn=96, kind="int"), point("tt80", am="MN", bmj="MN", bn=80, kind="int", vec=4, split=1),
            point("tt2n", am="MN", bmj="MN", bn=128, cluster=2, along_m=0), point("int128", kind="int"), point("intpp192", kind="int", bn=192, pp=1, cr=240, pr=24), point("intswap", kind="int", bm=64, bn=32, swap=1, consumers=1, pr=0, split=1),
            point("vec1", kind="int", vec=1), point("pair", kind="pair", pair=1, stages=3), point("pairnn", kind="pair", pair=1, bmj="MN", stages=3), point("pair192", kind="pair", pair=1, bn=192, stages=3, cr=240, pr=24), point("pairswap", kind="pair", pair=1, swap=1, bm=128, bn=32, pr=0, split=1), point("pairpp", kind="pair", pair=1, bm=64, bn=128, pp=1),
            point("ck4int", kind="int", swap=1, bm=64, bn=16, consumers=1, pr=0, stages=6, ck=4), point("general", stages=5), point("generalpp", bn=192, pp=1, stages=4, cr=240, pr=24), point("early", swap=1, bm=64, bn=16, consumers=1, pr=0, stages=8, split=1, pdl=1, early=1, cluster=2, along_m=0)]
    return out
def line(c):
    from math import gcd
    b = lambda k: int(bool(c[k]))
    producer = 128 if c["pr"] else 32
    ops = 2 if c["pair"] else 1
    y_wide, y_high = (64, c["bn"]) if c["swap"] else (gcd(c["bn"], 64), 64)
    lefts, rights = (ops, 1) if c["swap"] else (1, ops)
    ring = c["stages"] * 128 * (lefts * c["bm"] + rights * c["bn"])
    finish = c["consumers"] * c["yb"] * y_high * y_wide * 2 if c["tma"] else c["consumers"] * 4 * ops * 2560
    up = lambda x, a: -(-x // a) * a
    sums = 4 * (c["ck"] - 1) * c["bm"] * c["bn"] * ops if c["ck"] > 1 else 16
    smem = up(up(ring, 1024) + up(finish, 16) + sums + 8 + 16 * c["stages"] + 16 + 4 * c["consumers"], 1024)
    rows, cols = (c["bn"], c["bm"]) if c["swap"] else (c["bm"], c["bn"])
    a_part, b_part = rows // (1 if c["along_m"] else c["cluster"]), cols // (c["cluster"] if c["along_m"] else 1)
    return " ".join(map(str, [c["name"], c["name"] + ".cubin", c["kind"], c["bm"], c["bn"], c["consumers"], producer, c["cluster"], b("along_m"), b("swap"), b("pair"), b("split"), b("pdl"), b("tma"),
        int(c["am"] == "MN"), int(c["bmj"] == "MN"), c["vec"], smem, y_wide, y_high, gcd(a_part, 64), gcd(b_part, 64), c["blocks"], c["ck"], c["sk"]])), smem
if __name__ == "__main__":
    to, part, parts = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 0, int(sys.argv[3]) if len(sys.argv) > 3 else 1
    os.makedirs(to, exist_ok=True)
    with open(to + "/points%d.txt" % part, "w") as listing:
        for i, c in enumerate(points()):
            if i % parts != part or not re.match(os.environ.get("ONLY", ""), c["name"]): continue
            text, smem = line(c)
            t = cpu(); cubin, log = compile(source(**c)); t = cpu() - t
            if cubin is None or smem > 232448: print(c["name"], "LEFT OUT", smem, log[:400]); continue
            open(to + "/" + c["name"] + ".cubin", "wb").write(cubin)
            listing.write(text + "\n"); listing.flush()
            print("%-20s %.1f s %7d B smem %6d %s %s" % (c["name"], t, len(cubin), smem, facts(cubin), log[:300]), flush=True)
