/** Messages of an answer that binds a gateway. A gateway may be created after its binding, so an absent one is not refused. */
import { type FieldNote, fieldNotes } from "../../core/field-notes.ts";
import { noGateway } from "../../gateways/absent-gateway.ts";

interface GatewayNames {
	names(): Promise<string[]>;
}

/** No message if the names cannot be read: the binding is stored, and the answer may have a token that is shown only once. */
export async function unknownBinding(
	registry: GatewayNames,
	{ id, path }: { id: string | undefined; path: string },
): Promise<{ messages?: FieldNote[] }> {
	if (id === undefined) return {};
	const names = await registry.names().catch(() => undefined);
	if (!names || names.includes(id)) return {};
	const sentence = noGateway(id, names, "; POST …/ai-gateway/gateways creates it");
	return { messages: fieldNotes([`${path}: ${sentence}`]) };
}
