/**
 * The entrypoint `Drain`: answers at once, and ends its answer when nothing goes on behind the answers of this isolate.
 * Whoever runs the Worker in a process of his own asks it before he stops the process, so that it waits for the last
 * settlements as well (`scripts/serve.ts`). No route leads here: who may ask is who has the socket.
 */
import { WorkerEntrypoint } from "cloudflare:workers";
import type { Background } from "../objects/background.ts";

export function drain(background: Pick<Background, "rest">) {
	return class extends WorkerEntrypoint {
		override fetch(): Response {
			const { readable, writable } = new IdentityTransformStream();
			const writer = writable.getWriter();
			const answered = async (): Promise<void> => {
				await writer.write(new TextEncoder().encode("draining\n"));
				await background.rest();
				await writer.close();
			};
			this.ctx.waitUntil(answered().catch(() => {}));
			return new Response(readable);
		}
	};
}
