vllm serve org/target --max_model_len 32k --gpu_memory_utilization=0.9 -O3 --no-enable-prefix-caching
