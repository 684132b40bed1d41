/** The exports of this surface in a build that leaves `search` out: `scripts/rooms.ts` replaces their modules by this one. */
import { leftOutWork } from "../../storage/left-out-objects.ts";
import type { WorkHandler } from "../../storage/queue/work.ts";
import { leftOutEntrypoint, leftOutTarget, noRoutes } from "../rpc/left-out.ts";

export { noRoutes as publicSearchRoutes, noRoutes as ragWireRoutes, noRoutes as searchRoutes };

const NAMESPACE = ["get", "list", "create", "delete", "search", "chatCompletions"];
const INSTANCE = ["search", "chatCompletions", "info", "stats", "update", "part", "items", "jobs"];

export const searchNamespaceEntrypoint = leftOutEntrypoint("search", NAMESPACE);
export const searchInstanceEntrypoint = leftOutEntrypoint("search", INSTANCE);
export const NamespaceTarget = leftOutTarget("search", NAMESPACE);

export const searchWork = (): WorkHandler => leftOutWork;
