//! The guard's examples: what passes, and which rule stops the rest.

use super::*;

fn rules(source: &str, language: Language) -> Vec<Rule> {
    check(source, language).into_iter().map(|violation| violation.rule).collect()
}

#[test]
fn honest_kernels_pass() {
    let cuda = r#"
#include <cute/tensor.hpp>
#include <cutlass/arch/barrier.h>
#include <cuda_bf16.h>
#include <cstdint>
#define PIPE 4 // stages
#define MAX(a, b) \
    ((a) > (b) ? (a) : (b))
#if PIPE > 2 && !defined(DEBUG)
#endif
extern "C" __global__ void __launch_bounds__(128) k(float* y) {
    #pragma unroll (PIPE)
    for (int i = 0; i < 1'000; ++i) y[i] = 1e-3f;
    asm volatile("wgmma.fence.sync.aligned;\n" ::: "memory");
    asm volatile("ld.global.nc.L1::no_allocate.v4.f32 {%0}, [%1];" : "=f"(y[0]) : "l"(y));
}
"#;
    assert_eq!(check(cuda, Language::Cuda), []);
    let host = r#"
#include <immintrin.h>
#include <cmath>
extern "C" __attribute__((visibility("default"), externally_visible)) void k(float* __restrict__ y) {
    #pragma GCC unroll 4
    for (int i = 0; i < 8; ++i) y[i] = 0;
    #pragma GCC ivdep
    for (int i = 0; i < 8; ++i) y[i] = 0;
}
"#;
    assert_eq!(check(host, Language::Host), []);
}

#[test]
fn includes_outside_the_list_are_refused() {
    for line in [
        "#include </etc/passwd>",
        "#include \"/etc/passwd\"",
        "#include \"cute/tensor.hpp\"",
        "#include <cute/../../../../etc/passwd>",
        "#include <cute//etc/passwd>",
        "#include <cstdio>",
        "#include <fstream>",
        "#include HEADER",
        "#include <cute/tensor.hpp> x",
        "#in\\\nclude </dev/zero>",
        "#/* */include/* */</etc/passwd>",
        "/* */ # include </etc/passwd>",
        "#include <immintrin.h>",
    ] {
        assert_eq!(rules(line, Language::Cuda), [Rule::Include], "{line}");
    }
}

#[test]
fn directives_outside_the_list_are_refused() {
    for line in [
        "#embed </etc/passwd>",
        "#import <x>",
        "#include_next <x>",
        "#line 3 \"x\"",
        "# 3 \"x\"",
        "#ident \"x\"",
        "#assert x",
    ] {
        assert_eq!(rules(line, Language::Host), [Rule::Directive], "{line}");
    }
    for line in [
        "#pragma GCC target(\"avx512f\")",
        "#pragma GCC optimize(\"O0\")",
        "#pragma once",
        "#pragma weak x",
        "#pragma unroll \"x\"",
    ] {
        assert_eq!(rules(line, Language::Host), [Rule::Pragma], "{line}");
    }
}

#[test]
fn probing_words_are_refused_wherever_they_stand() {
    for text in [
        "#if __has_include(</etc/shadow>)\n#endif",
        "const char* d = __DATE__;",
        "#define P __has_include",
        "__has_\\\ninclude",
        "[[gnu::section(\".init_array\")]] int x;",
        "[[using gnu: constructor]] void f();",
    ] {
        assert!(rules(text, Language::Host).contains(&Rule::Word), "{text}");
    }
    for text in
        ["_Pragma(\"GCC target(\\\"avx512f\\\")\")", "#define P _Pragma(\"weak f\")", "_Pragma(x)", "_Pragma"]
    {
        assert_eq!(rules(text, Language::Host), [Rule::Pragma], "{text}");
    }
    assert_eq!(rules("#define SIMD _Pragma(\"GCC ivdep\")", Language::Host), []);
    assert_eq!(rules("#define J(a, b) a ## b", Language::Host), [Rule::Paste]);
    assert_eq!(rules("%:include </etc/passwd>", Language::Host), [Rule::Text]);
    assert_eq!(rules("??=include </etc/passwd>", Language::Host), [Rule::Text]);
}

#[test]
fn attributes_outside_the_list_are_refused() {
    for text in [
        "__attribute__((constructor)) void f();",
        "__attribute__((__constructor__)) void f();",
        "__attribute__((aligned(16), section(\".a\\n.text\"))) int x;",
        "__attribute__((target(\"avx512f\"))) void f();",
        "__attribute__((ifunc(\"g\"))) void f();",
        "#define A __attribute__\nA((constructor)) void f();",
        "#define B constructor\n__attribute__((B)) void f();",
    ] {
        assert!(rules(text, Language::Host).contains(&Rule::Attribute), "{text}");
    }
}

#[test]
fn macros_cannot_hide_an_attribute() {
    for text in [
        "#define P )\n",
        "#define O (\n",
        "#define A 16), section(\"x\"\n",
        "#define aligned constructor\n",
        "#define B(aligned) 1\n",
        "#define L [\n",
    ] {
        assert_eq!(rules(text, Language::Host), [Rule::Define], "{text}");
    }
}

#[test]
fn macros_of_libc_do_not_lead_to_the_assembler() {
    let text = "__REDIRECT(f, (void), x; .incbin \"/etc/passwd\");";
    assert_eq!(rules(text, Language::Host), [Rule::Word]);
    assert_eq!(rules("_CCCL_PRAGMA(GCC target(\"avx512f\"))", Language::Cuda), [Rule::Word]);
    assert_eq!(check("__m256 x = __builtin_ia32_addps256(a, _mm256_setzero_ps());", Language::Host), []);
}

#[test]
fn assembly_is_for_gpus_and_without_directives() {
    assert_eq!(rules("void f() { asm(\"nop\"); }", Language::Host), [Rule::Assembly]);
    assert_eq!(rules("int x __asm__(\"y\");", Language::Host), [Rule::Assembly]);
    assert_eq!(rules("asm(\".inc\" \"bin \\\"/etc/passwd\\\"\");", Language::Cuda), [Rule::Assembly]);
    assert_eq!(rules("#define S \".section .x\"", Language::Host), [Rule::Assembly]);
    assert_eq!(rules("asm(\"} .visible .entry evil() {\");", Language::Cuda), [Rule::Assembly]);
}

#[test]
fn comments_may_say_anything() {
    assert_eq!(check("// #include </etc/passwd> .incbin naïve\n/* __DATE__ */ int x;", Language::Host), []);
}

#[test]
fn violations_tell_their_place() {
    let found = check("int x;\n  #include <cstdio>\n", Language::Cuda);
    assert_eq!((found[0].line, found[0].column, found[0].found.as_str()), (2, 3, "#include cstdio"));
}

#[test]
fn endless_sources_are_refused() {
    assert_eq!(rules(&" ".repeat(SOURCE_BYTES_MAX + 1), Language::Cuda), [Rule::Length]);
}
