/**
 * The entrypoint `Drain`. With it, `cli/stop.ts` stops a Worker that runs in a separate process, without loss. The script sends one
 * request at the start and keeps its body open. This keeps the process alive, because workerd waits for requests in progress when it
 * stops. When the body ends, new requests are refused, and the response ends when the background work of this isolate is complete. It has
 * no route: only the owner of the socket can call it.
 */
import { WorkerEntrypoint } from "cloudflare:workers";
import { AiError } from "../../core/errors.ts";
import type { Background } from "../../http/background.ts";
import { failureEnvelope } from "../../http/envelope.ts";

/** Time for a restart of the process, or for a proxy to choose another instance. */
const RETRY_AFTER_SECONDS = "2";

export function drain(background: Pick<Background, "close" | "whenIdle">) {
	return class extends WorkerEntrypoint {
		override fetch(request: Request): Response {
			const { readable, writable } = new IdentityTransformStream();
			const writer = writable.getWriter();
			const drained = async (): Promise<void> => {
				await writer.write(new TextEncoder().encode("ready\n"));
				// Rejects if the script has disconnected without ending the body. The gateway then keeps running.
				await request.body?.pipeTo(new WritableStream());
				background.close();
				await background.whenIdle();
				await writer.close();
			};
			this.ctx.waitUntil(drained().catch(() => {}));
			return new Response(readable);
		}
	};
}

/** The response to new requests while the gateway stops. */
export function closing(): Response {
	const { body } = failureEnvelope(new AiError("outOfCapacity"), crypto.randomUUID());
	return new Response(body, {
		status: 503,
		headers: { "content-type": "application/json", "retry-after": RETRY_AFTER_SECONDS },
	});
}
