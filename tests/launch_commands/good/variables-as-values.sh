sglang serve --model-path ${MODEL:-org/target} \
  --tp-size $TP --kv-cache-dtype "$KV" --attention-backend triton
