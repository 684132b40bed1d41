/** The items of an AI Search instance. */
import * as z from "zod";
import type { ConnectionFlags, GatewayClient } from "./gateway-client.ts";

export interface InstanceFlags extends ConnectionFlags {
	instance: string;
	/** Default: `default`. */
	namespace?: string;
}

/** The longest page. */
const PER_PAGE = 50;

const Item = z.looseObject({
	id: z.string(),
	key: z.string(),
	status: z.string(),
	checksum: z.string(),
	source_id: z.string().nullish(),
	error: z.string().optional(),
	metadata: z.record(z.string(), z.unknown()),
});
export type ShownItem = z.output<typeof Item>;

export const instancesPath = ({ namespace = "default" }: InstanceFlags): string =>
	`/ai-search/namespaces/${encodeURIComponent(namespace)}/instances`;

export const itemsPath = (flags: InstanceFlags): string =>
	`${instancesPath(flags)}/${encodeURIComponent(flags.instance)}/items`;

/** Those whose key begins with `prefix`. An item that changes meanwhile may be listed twice, so its last state counts. */
export async function listItems(
	client: GatewayClient,
	flags: InstanceFlags,
	prefix: string,
): Promise<ShownItem[]> {
	const items = new Map<string, ShownItem>();
	for (let page = 1; ; page++) {
		const query = `page=${page}&per_page=${PER_PAGE}&sort_by=modified_at&search=${encodeURIComponent(prefix)}`;
		const listed = await client.result(`${itemsPath(flags)}?${query}`, z.array(Item));
		for (const item of listed) if (item.key.startsWith(prefix)) items.set(item.id, item);
		if (listed.length < PER_PAGE) return [...items.values()];
	}
}
