sglang serve --model-path org/target --attention-backend trtllm_mla \
  --kv-cache-dtype bfloat16
