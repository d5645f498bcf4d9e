vllm serve org/target --api_key one two \
  --hf-token secret
