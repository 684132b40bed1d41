/** Messages of an answer that binds a gateway. A gateway may be created after its binding, so an absent one is not refused. */
import { didYouMean, quote } from "../../core/did-you-mean.ts";
import { type FieldNote, fieldNotes } from "../../core/field-notes.ts";
import type { AppCall } from "../route.ts";

export async function absentGateway(
	{ caller, services }: AppCall,
	{ id, path }: { id: string | undefined; path: string },
): Promise<{ messages?: FieldNote[] }> {
	if (id === undefined) return {};
	const names = await services.gateways.registry(caller.account).names();
	if (names.includes(id)) return {};
	const cure = didYouMean(id, names) || "; POST …/ai-gateway/gateways creates it";
	const message = `${path}: the account has no gateway ${quote(id)}${cure}`;
	return { messages: fieldNotes([message]) };
}
