sglang serve --model-path org/target \
  --speculative-algorithm MTP
