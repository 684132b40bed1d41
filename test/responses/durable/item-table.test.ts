import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, it } from "vitest";
import { ItemTable } from "../../../src/responses/durable/item-table.ts";
import { LongTexts } from "../../../src/responses/durable/long-texts.ts";

it("has an item that is added after the last one was deleted behind it, also after a restart of the object", () =>
	runInDurableObject(env.RESPONSE_STORE.getByName(crypto.randomUUID()), (_, { storage }) => {
		const opened = () => new ItemTable(storage.sql, new LongTexts(storage.sql));
		const items = opened();
		const add = (table: ItemTable, id: string) =>
			table.insert([{ id, json: `{"id":"${id}"}` }], { owner: "", conversation: "conv_1", held: false });
		add(items, "msg_1");
		add(items, "msg_2");
		items.leaveOne("conv_1", "msg_2", Date.now());
		const restarted = opened();
		add(restarted, "msg_3");
		const after = (order: "asc" | "desc") =>
			restarted.page("conv_1", { after: "msg_2", limit: 10, order })?.items;
		expect(after("asc")).toEqual(['{"id":"msg_3"}']);
		expect(after("desc")).toEqual(['{"id":"msg_1"}']);
	}));
