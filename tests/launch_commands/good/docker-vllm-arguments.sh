docker run --runtime nvidia --gpus all vllm/vllm-openai:v0.33.0 \
  org/target --tensor-parallel-size 2 \
  --speculative-config '{"method": "dflash", "model": "org/draft", "num_speculative_tokens": 7}'
