"""table.py LOGS JSON PROGRAMS...: one line a program: numbers, then each sanitizer."""
import json, os, re, sys
logs, out, programs = sys.argv[1], sys.argv[2], sys.argv[3:]
TOOLS = ["memcheck", "racecheck", "initcheck", "synccheck"]
rows, kinds = [], {}
def text(name):
    try:
        return open(os.path.join(logs, name), errors="replace").read()
    except OSError:
        return ""
def rc_of(t):
    found = re.findall(r"^rc=(\d+)$", t, re.M)
    return int(found[-1]) if found else None
def numbers(t):
    m = re.search(r"^RESULT (.*)$", t, re.M)
    return dict(p.split("=", 1) for p in m.group(1).split()) if m else {}
def kind_of(t):
    for line in t.splitlines():
        if not line.startswith("========="):
            continue
        s = line[9:].strip()
        if not s or s.startswith(("COMPUTE-SANITIZER", "ERROR SUMMARY", "RACECHECK SUMMARY", "Saved host", "Host Frame")):
            continue
        s = re.sub(r"0x[0-9a-f]+", "#", s)
        s = re.sub(r"(.*Race reported between )(Write|Read) access at .*? and (Write|Read) access.*", r"\1\2 and \3", s)
        s = re.sub(r"\b(in|by|at|from) .*", "", s) if "Race" not in s else s
        return s.strip()[:90]
    return ""
print("%-9s %-6s %-34s %s" % ("program", "ptxas", "numbers: wrong/differ/late", " ".join("%-15s" % t for t in TOOLS)))
for p in programs:
    t = text(p + ".plain")
    n, rc = numbers(t), rc_of(t)
    build = text(p + ".build")
    ptxas = sorted(set(re.findall(r"C\d{4}", build)))
    row = {"program": p, "ptxas": ptxas, "plain": {"rc": rc, **n}, "error": (re.findall(r"^ERROR (.*)$", t, re.M) or [None])[0], "tools": {}}
    if n:
        shown = "%s/%s/%s of %s" % (n["wrong"], n["differ"], n["late_wrong"], n["launches"])
        shown += " cnt" if n.get("counters", "0") != "0" else ""
        shown += " e%s" % n["worst"] if n["worst"] != "0" else ""
    else:
        shown = "none"
    if rc in (124, 137):
        shown += " HUNG"
    if row["error"]:
        shown += " " + row["error"].split()[0].replace("cudaError", "")[:14]
    cells = []
    for tool in TOOLS:
        t = text("%s.%s" % (p, tool))
        rc = rc_of(t)
        e = re.search(r"ERROR SUMMARY: (\d+) error", t)
        r = re.search(r"RACECHECK SUMMARY: (\d+) hazards? displayed \((\d+) errors?, (\d+) warnings?", t)
        count, warnings = (int(r.group(2)), int(r.group(3))) if r else (int(e.group(1)) if e else None, 0)
        kind = kind_of(t) if count or warnings or count is None else ""
        n = numbers(t)
        row["tools"][tool] = {"rc": rc, "errors": count, "warnings": warnings, "kind": kind, **n}
        key = kinds.setdefault(kind, chr(97 + len(kinds))) if kind else ""
        c = "clean" if count == 0 and not warnings else "none" if count is None else "%dE%s" % (count, "%dW" % warnings if warnings else "")
        if rc in (124, 137):
            c = "timeout" if count is None else c + " t/o"
        c += " " + key if key else ""
        if n and (n["wrong"] != "0" or n["differ"] != "0" or n["late_wrong"] != "0"):
            c += " !%s/%s" % (n["wrong"], n["late_wrong"])
        cells.append("%-15s" % c)
    rows.append(row)
    print("%-9s %-6s %-34s %s" % (p, ",".join(ptxas) or "-", shown[:34], " ".join(cells)))
print("(!w/l: wrong numbers under the tool, of them behind a late writer)")
for kind, key in list(kinds.items())[:10]:
    print("  %s: %s" % (key, kind))
json.dump({"rows": rows, "kinds": {v: k for k, v in kinds.items()}}, open(out, "w"), indent=1)
