/**
 * The entrypoint `Connections`: the connection guard and the watch of the disk send their counts to it, because they are in other
 * processes. The guard also tells when the process is idle after a load, and the answers to its probes say which tokens were accepted. It
 * has no route: only the owner of the socket can call it.
 */
import { WorkerEntrypoint } from "cloudflare:workers";
import * as z from "zod";
import { DISK_CLASS, diskSpace } from "../../core/disk-space.ts";
import { collectAllGarbage } from "../../core/garbage.ts";
import { lazy } from "../../core/lazy.ts";
import { LATE_PARAMETER, type RuntimeDelay } from "../../core/runtime-delay.ts";
import {
	AFTER_PARAMETER,
	COLLECTION_PATH,
	type CountReport,
	PROBE_PATH,
	type SeparatedRequests,
} from "../../core/shared-count.ts";
import { acceptedTokens } from "../../http/accepted-tokens.ts";

const Report = lazy(() =>
	z.object({
		counts: z.array(z.object({ name: z.string(), used: z.number(), limit: z.number(), refused: z.number() })),
		separated: z.object({ separatesLarge: z.boolean(), large: z.number(), small: z.number() }).optional(),
	}),
);

export class GuardCounts {
	#latest: readonly CountReport[] = [];
	#separated: SeparatedRequests | undefined;

	/** Empty without a guard. */
	latest(): readonly CountReport[] {
		return this.#latest;
	}

	/** `undefined` without a guard. */
	separated(): SeparatedRequests | undefined {
		return this.#separated;
	}

	/** Throws if the value is no report. */
	set(value: unknown): void {
		const { counts, separated } = Report().parse(value);
		const disk = counts.find(({ name }) => name === DISK_CLASS);
		if (disk) diskSpace.set(disk);
		else [this.#latest, this.#separated] = [counts, separated];
	}
}

export function connections(counts: GuardCounts, delay: RuntimeDelay) {
	return class extends WorkerEntrypoint {
		override async fetch(request: Request): Promise<Response> {
			const { pathname, searchParams } = new URL(request.url);
			if (pathname === PROBE_PATH) {
				delay.set(Number(searchParams.get(LATE_PARAMETER)));
				return Response.json(acceptedTokens.after(Number(searchParams.get(AFTER_PARAMETER))));
			}
			counts.set(await request.json());
			if (pathname === COLLECTION_PATH) collectAllGarbage();
			return new Response(null, { status: 204 });
		}
	};
}
