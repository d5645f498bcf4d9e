sglang serve --model-path org/target \
  --tp-size 8
  --trust-remote-code \
  --port 30000
