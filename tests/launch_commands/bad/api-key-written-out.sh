sglang serve --model-path org/target \
  --api-key not-a-known-shape \
  --admin-api=secret --ssl-keyfile-pass secret
