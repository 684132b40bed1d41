/**
 * `DELETE …/ai/data`: deletes all data of the account, in every class of objects. `GET` shows how far the deletion is. Only for the operator.
 * Not in the product.
 */
import { present } from "../../core/present.ts";
import { envelope } from "../../http/envelope.ts";
import { answer } from "../answer.ts";
import { AI, below } from "../bases.ts";
import { type AppCall, type AppRoute, defineRoutes } from "../route.ts";
import { type DeletionProgress, deletionId, deletionItem } from "./deletion-item.ts";

export const deletionRoutes: readonly AppRoute[] = defineRoutes(
	{ bases: [below(AI, "/data")], tag: "Accounts" },
	[
		{
			method: "GET",
			path: "",
			summary: "Shows how far the deletion of the account's data is",
			permission: "operator",
			output: answer("deletionAnswer"),
			handler: async (_, call) => envelope(await stateOf(call)),
		},
		{
			method: "DELETE",
			path: "",
			summary: "Deletes all data of the account",
			permission: "operator",
			output: answer("deletionAnswer"),
			async handler(_, call) {
				const { caller, services } = call;
				// First, so that a deletion which has begun goes on after a kill.
				await services.storage.queue.enqueue(deletionItem(caller.account), { freesSpace: true });
				await services.deletedAccounts.begin(caller.account);
				return envelope(await stateOf(call));
			},
		},
	],
);

/** `present`: the account exists. `absent`: it has no data. `free_at`: when its name may be used again. */
async function stateOf({ caller, services }: AppCall): Promise<object> {
	const { account } = caller;
	const deletion = await services.deletedAccounts.find(account);
	if (!deletion) {
		const place = await services.directory.lookUp(account);
		return { state: place === undefined ? "absent" : "present", deleted: {}, waiting: [] };
	}
	const { error, progress } = (await services.storage.queue.status(deletionId(account))) ?? {};
	const { deleted, waiting } = (progress ?? { deleted: {}, waiting: [] }) as DeletionProgress;
	const freeAt = deletion.until === undefined ? undefined : new Date(deletion.until).toISOString();
	const state = freeAt === undefined ? "deleting" : "absent";
	return { state, deleted, waiting, ...present({ free_at: freeAt, error }) };
}
