docker run --gpus all \
  --env HF_TOKEN=SECRET \
  vllm/vllm-openai:v0.33.0 --model org/target
