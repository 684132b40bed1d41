/** A container: what it takes, how it is, and what it predicts. */
import health from "../../fixtures/cog/health-ready.json?raw";
import { json, type Responder, type SentRequest } from "../upstream.ts";

export const URL = "http://container.test:5000";

interface Container {
	openApi: string;
	health?: object;
	/** Of `/predictions`. */
	predict(asked: SentRequest): Response | Promise<Response>;
	/** Of any other path. */
	other?: Responder;
}

export const container =
	({ openApi, health: status, predict, other }: Container): Responder =>
	(asked) => {
		switch (asked.url.replace(URL, "")) {
			case "/health-check":
				return json(status ?? health);
			case "/openapi.json":
				return json(openApi);
			case "/predictions":
				return predict(asked);
			default:
				return other?.(asked) ?? json({ detail: "Not Found" }, 404);
		}
	};

/** An OpenAPI document whose model takes these inputs. */
export const takes = (properties: Record<string, object>, output: object = {}): string =>
	JSON.stringify({ components: { schemas: { Input: { properties }, Output: output } } });

export const succeeds = (output: unknown, more: object = {}): Response =>
	json({ status: "succeeded", output, ...more });

/** The predictions that were asked for. */
export const predictionsOf = (requests: SentRequest[]): Record<string, unknown>[] =>
	requests.filter(({ url }) => url === `${URL}/predictions`).map(({ json: body }) => body);
