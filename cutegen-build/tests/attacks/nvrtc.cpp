// An NVRTC taken over by what it read: for the headers it behaves; then it tries what the first comment of the source
// names, and leaves what came of it. It is the nvJitLink, too, and passes on what it is given.
#include <string>

struct Program { std::string source, cubin; };

extern "C" int nvrtcCreateProgram(Program** program, const char* source, const char*, int, const char* const*, const char* const*) {
  *program = new Program{source, "nothing asked"};
  return 0;
}
extern "C" int nvrtcSetPCHHeapSize(size_t) { return 0; }
extern "C" int nvrtcGetPCHCreateStatus(Program*) { return 0; }
extern "C" int nvrtcCompileProgram(Program* program, int count, const char* const* options) {
  const std::string create = "--create-pch=";
  for (int i = 0; i < count; ++i) {
    const std::string option = options[i];
    if (option.rfind(create, 0) == 0) close(open(option.c_str() + create.size(), O_CREAT | O_WRONLY, 0600));
  }
  char name[64], secret[512], outside[512];
  int sibling = 0;
  const size_t asked = program->source.find("// ");
  if (asked == std::string::npos) return 0;
  if (sscanf(program->source.c_str() + asked, "// %63s %511s %511s %d", name, secret, outside, &sibling) != 4) return 0;
  const char* said[] = {"not here", "stopped", "through"};
  program->cubin = said[attempt(name, secret, outside, sibling) + 1];
  return 0;
}
extern "C" int nvrtcGetLTOIRSize(Program* program, size_t* size) { *size = program->cubin.size(); return 0; }
extern "C" int nvrtcGetLTOIR(Program* program, char* to) { memcpy(to, program->cubin.data(), program->cubin.size()); return 0; }
extern "C" int nvrtcGetProgramLogSize(Program*, size_t* size) { *size = 1; return 0; }
extern "C" int nvrtcGetProgramLog(Program*, char* to) { *to = 0; return 0; }
extern "C" int nvrtcDestroyProgram(Program** program) { delete *program; return 0; }

extern "C" int nvJitLinkCreate(std::string** link, unsigned, const char* const*) { *link = new std::string; return 0; }
extern "C" int nvJitLinkAddData(std::string* link, int, const char* data, size_t size, const char*) { link->assign(data, size); return 0; }
extern "C" int nvJitLinkComplete(std::string*) { return 0; }
extern "C" int nvJitLinkGetLinkedCubinSize(std::string* link, size_t* size) { *size = link->size(); return 0; }
extern "C" int nvJitLinkGetLinkedCubin(std::string* link, char* to) { memcpy(to, link->data(), link->size()); return 0; }
extern "C" int nvJitLinkGetInfoLogSize(std::string*, size_t* size) { *size = 0; return 0; }
extern "C" int nvJitLinkGetInfoLog(std::string*, char*) { return 0; }
extern "C" int nvJitLinkDestroy(std::string** link) { delete *link; return 0; }
