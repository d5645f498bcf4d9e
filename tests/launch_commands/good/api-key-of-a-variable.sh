export HF_TOKEN=$(cat token) API_KEY="$KEY"
sglang serve --model-path org/target --api-key "$API_KEY" --admin-api-key=$ADMIN --ssl-keyfile-password <password>
