sglang serve --model-path org/target --kv-cache-dtype --tp-size 8
