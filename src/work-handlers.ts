/** The handlers of durable work, by kind: each room that enqueues items has its rows here. A handler loads when its first item runs. */
import { own } from "./core/own.ts";
import { EVENTS_KIND } from "./jobs/batches/events.ts";
import type { WorkHandler } from "./storage/queue/work.ts";
import type { AppServices } from "./surfaces/services.ts";

type HandlerTable = Readonly<Record<string, (services: AppServices) => Promise<WorkHandler>>>;

const HANDLERS: HandlerTable = {
	accounts: async (services) => (await import("./surfaces/accounts/deletion-work.ts")).deletionWork(services),
	batches: async (services) => (await import("./surfaces/jobs/batch-work.ts")).batchWork(services),
	[EVENTS_KIND]: async (services) => (await import("./surfaces/jobs/event-work.ts")).eventWork(services),
	search: async (services) => (await import("./surfaces/aisearch/work.ts")).searchWork(services),
	responses: async (services) =>
		(await import("./surfaces/responses/background.ts")).backgroundWork(services),
	vectors: async ({ now, vectorIndexes }) =>
		(await import("./retrieval/vectors/move-work.ts")).moveHandler(vectorIndexes.moves, now),
};

/** `undefined`: no room has registered the kind. Beside live requests each run begins after a pause, as long as requests wait. */
export async function workHandler(kind: string, services: AppServices): Promise<WorkHandler | undefined> {
	const handler = await own(HANDLERS, kind)?.(services);
	// A batch pauses between its steps.
	if (!handler || kind === "batches") return handler;
	return {
		...handler,
		async run(run) {
			await services.jobPace.giveWay(services.wait);
			return handler.run(run);
		},
	};
}
