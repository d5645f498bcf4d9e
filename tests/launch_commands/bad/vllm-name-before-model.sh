vllm serve --served-model-name x org/target
