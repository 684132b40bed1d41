/**
 * The entrypoint `Drain`, for whoever runs the Worker in a process of his own and is going to stop it
 * (`scripts/serve.ts`). It is asked at the start, with a body that stays open: the process waits for a request under way,
 * whoever tells it to stop. When the body ends, nothing new is let in, and the answer ends when nothing goes on behind
 * the answers of this isolate. No route leads here: who may ask is who has the socket.
 */
import { WorkerEntrypoint } from "cloudflare:workers";
import { AiError } from "../../core/errors.ts";
import type { Background } from "../../http/background.ts";
import { failureEnvelope } from "../../http/envelope.ts";

/** Long enough to be started again, or for a proxy to ask another. */
const RETRY_AFTER_SECONDS = "2";

export function drain(background: Pick<Background, "close" | "whenIdle">) {
	return class extends WorkerEntrypoint {
		override fetch(request: Request): Response {
			const { readable, writable } = new IdentityTransformStream();
			const writer = writable.getWriter();
			const answered = async (): Promise<void> => {
				await writer.write(new TextEncoder().encode("ready\n"));
				// It breaks off where whoever asked is gone, and has not told to stop.
				await request.body?.pipeTo(new WritableStream());
				background.close();
				await background.whenIdle();
				await writer.close();
			};
			this.ctx.waitUntil(answered().catch(() => {}));
			return new Response(readable);
		}
	};
}

/** The answer after the gateway was told to stop. */
export const closing = (): Response => noCapacity(503);

/** The answer while the process has as many requests under way as its open files allow. */
export const busy = (): Response => noCapacity(429);

function noCapacity(status: 429 | 503): Response {
	const { body } = failureEnvelope(new AiError("outOfCapacity"), "");
	return new Response(body, {
		status,
		headers: { "content-type": "application/json", "retry-after": RETRY_AFTER_SECONDS },
	});
}
