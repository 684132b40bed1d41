/**
 * Sends the spans of requests to the collectors of their gateways, in the background. A collector that fails never affects a request: the
 * span is dropped and counted.
 */
import type { EndedRequest } from "../answer-end.ts";
import { otlpTraces } from "../export/otlp.ts";
import type { OtelTarget } from "../settings.ts";

/** Spans that are being sent. A collector that does not answer must not fill the memory. */
const MAX_SENDING = 200;
const TIMEOUT_MS = 10_000;

export interface OtelExporterServices {
	fetch: typeof fetch;
	/** Keeps the context of the current request alive. */
	waitUntil(promise: Promise<unknown>): void;
	/** A span was dropped. The cause contains no content of the request. */
	failed(cause: unknown): void;
}

export class OtelExporter {
	readonly #services: OtelExporterServices;
	#sending = 0;
	#dropped = 0;

	constructor(services: OtelExporterServices) {
		this.#services = services;
	}

	/** Spans that were dropped by this isolate. */
	get dropped(): number {
		return this.#dropped;
	}

	/** Never throws. */
	readonly observe = (request: EndedRequest): void => {
		const targets = request.settings.otel ?? [];
		if (targets.length === 0) return;
		const body = JSON.stringify(otlpTraces(request));
		for (const target of targets) this.#services.waitUntil(this.#send(target, body));
	};

	async #send({ url, headers, authorization }: OtelTarget, body: string): Promise<void> {
		if (this.#sending >= MAX_SENDING) {
			this.#dropped++;
			return;
		}
		this.#sending++;
		try {
			const response = await this.#services.fetch(url, {
				method: "POST",
				body,
				headers: {
					...headers,
					...(authorization && { authorization }),
					"content-type": "application/json",
				},
				// A redirect could send the credential to another server.
				redirect: "manual",
				signal: AbortSignal.timeout(TIMEOUT_MS),
			});
			await response.body?.cancel();
			if (!response.ok) throw new Error(`The collector answered with status ${response.status}`);
		} catch (cause) {
			this.#dropped++;
			this.#services.failed(cause);
		} finally {
			this.#sending--;
		}
	}
}
