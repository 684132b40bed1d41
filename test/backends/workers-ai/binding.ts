/**
 * An `Ai` binding as the runtime's own class is one (workerd, `src/cloudflare/internal/ai-api.ts`): what it makes of a
 * call, sent to `fetch` instead of its service.
 */
import type { AiBinding } from "../../../src/backends/backend.ts";

export function bindingOver(fetch: (request: Request) => Response | Promise<Response>): AiBinding {
	return {
		async run(model, inputs, { signal, ...options }) {
			const streamed = Object.entries(inputs).find(([, value]) => isStreamed(value));
			const headers = { "cf-consn-sdk-version": "2.0.0", "cf-consn-model-id": model };
			const init = { method: "POST", signal: signal as AbortSignal };
			if (!streamed)
				return fetch(
					new Request("https://workers-binding.ai/run?version=3", {
						...init,
						headers: { ...headers, "content-type": "application/json" },
						body: JSON.stringify({ inputs, options }),
					}),
				);
			const [key, { body, contentType }] = streamed as [string, { body: BodyInit; contentType: string }];
			const rest = Object.fromEntries(Object.entries(inputs).filter(([name]) => name !== key));
			const query = new URLSearchParams({ version: "3", userInputs: JSON.stringify(rest) });
			return fetch(
				new Request(`https://workers-binding.ai/run?${query}`, {
					...init,
					headers: { ...headers, "content-type": contentType },
					body,
				}),
			);
		},
	};
}

const isStreamed = (value: unknown): boolean =>
	typeof value === "object" && value !== null && "body" in value && value.body instanceof ReadableStream;
