/** `ganglion models`: the catalogue of a running gateway. */
import * as z from "zod";
import { type ConnectionFlags, GatewayClient, queryText } from "../gateway-client.ts";
import { printJson, table } from "../table.ts";

const PER_PAGE = "1000";

const Prices = z.array(z.object({ unit: z.string(), price: z.number() }));
const Models = z.array(
	z.looseObject({
		name: z.string(),
		task: z.object({ name: z.string() }),
		properties: z.array(z.object({ property_id: z.string(), value: z.unknown() })),
	}),
);

export async function modelsCommand(
	search: string | undefined,
	flags: ConnectionFlags & { task?: string },
): Promise<number> {
	const query = queryText({ search, task: flags.task, per_page: PER_PAGE });
	const models = await new GatewayClient(flags).result(`/ai/models/search${query}`, Models);
	if (flags.json) printJson(models);
	else if (models.length === 0) console.log("No model matches.");
	else
		console.log(
			table(
				["MODEL", "TASK", "CONTEXT", "PRICE (USD)"],
				models.map(({ name, task, properties }) => {
					const property = (id: string) => properties.find(({ property_id }) => property_id === id)?.value;
					return [name, task.name, String(property("context_window") ?? ""), priceText(property("price"))];
				}),
			),
		);
	return 0;
}

function priceText(value: unknown): string {
	const { data = [] } = Prices.safeParse(value);
	return data.map(({ unit, price }) => `${price} ${unit}`).join(", ");
}
