// A compiler taken over by what it read: it tries what the first line of the source names, and leaves what came of it.
int main() {
  char name[64], secret[512], outside[512];
  int sibling = 0;
  FILE* source = fopen("kernel.cpp", "r");
  if (!source || fscanf(source, "// %63s %511s %511s %d", name, secret, outside, &sibling) != 4) return 1;
  const char* said[] = {"not here", "stopped", "through"};
  int result = attempt(name, secret, outside, sibling);
  FILE* artifact = fopen("artifact", "w");
  return artifact && fputs(said[result + 1], artifact) >= 0 && fclose(artifact) == 0 ? 0 : 1;
}
