vllm serve org/target \
  --speculative-config '{"model": "org/x", "num_speculative_tokens": 7}'
