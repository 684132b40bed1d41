import { AI_SDK, aiSdk, type Provider } from "../library/ai-sdk.ts";
import { type Library, OPENAI_MODELS } from "../library/client.ts";
import { redirectCloudflare } from "../library/redirect.ts";

type CreateGateway = (options: {
	accountId: string;
	gateway: string;
	apiKey: string;
}) => (model: ReturnType<Provider>) => ReturnType<Provider>;

export const client: Library = {
	title: "ai-gateway-provider",
	packages: ["ai-gateway-provider", ...AI_SDK, "@ai-sdk/openai", "@ai-sdk/openai-compatible"],
	models: OPENAI_MODELS,
	sentences: { 401: /you didn't provide a valid apiKey/ },
	async open(context) {
		const { account, load, model, origin, token } = context;
		redirectCloudflare(origin);
		const { createAiGateway } = await load<{ createAiGateway: CreateGateway }>("ai-gateway-provider");
		const { createOpenAI } = await load<{ createOpenAI(): Provider }>("ai-gateway-provider/providers/openai");
		const gateway = createAiGateway({ accountId: account, gateway: "default", apiKey: token });
		return aiSdk(context, gateway(createOpenAI()(model)));
	},
};
