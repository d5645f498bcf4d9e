export HF_HUB_OFFLINE=0
export HF_TOKEN=SECRET
HF_TOKEN='SECRET' sglang serve --model-path org/target \
  --api-key SECRET
