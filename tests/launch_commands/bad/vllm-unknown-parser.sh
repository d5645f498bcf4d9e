vllm serve org/target --enable-auto-tool-choice \
  --tool-call-parser kimi_k99
