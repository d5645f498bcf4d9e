vllm serve --model org/target
