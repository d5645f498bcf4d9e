vllm serve org/target \
  --speculative-config '{"method": "eagle", "model": "org/x", "num_speculative_tokens": 8}'
