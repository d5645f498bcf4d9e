sglang serve --model-path org/target \
  --tool-call-parser kimi_k3 \
  --reasoning-parser kimi_k9
