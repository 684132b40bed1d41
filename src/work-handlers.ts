/** The handlers of durable work, by kind: each room that enqueues items has its rows here. A handler loads when its first item runs. */
import type { AppServices } from "./http/services.ts";
import type { WorkHandler } from "./storage/queue/work.ts";

type HandlerTable = Readonly<Record<string, (services: AppServices) => Promise<WorkHandler>>>;

export const WORK_HANDLERS: HandlerTable = {
	responses: async (services) =>
		(await import("./surfaces/responses/background.ts")).backgroundWork(services),
};
