export MY_API_KEY=not-a-known-shape ADMIN_TOKEN=other
HF_HUB_DISABLE_IMPLICIT_TOKEN=1 sglang serve --model-path org/target --api-key $MY_API_KEY
