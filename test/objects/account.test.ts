import { describe, expect, it } from "vitest";
import { admission, newAccount, stubOf } from "./ask.ts";

const count = <T>(values: readonly T[], is: (value: T) => boolean): number => values.filter(is).length;

describe("500 concurrent admissions against room for 100", () => {
	const admitAll = (fields: Parameters<typeof admission>[0]) => {
		const account = newAccount();
		return Promise.all(Array.from({ length: 500 }, () => stubOf(account).admit(admission(fields), [])));
	};

	it("lets exactly 100 pass, of requests", async () => {
		const answers = await admitAll({ rates: [{ key: "task:Text Generation", perMinute: 100 }] });
		expect(count(answers, ({ ok }) => ok)).toBe(100);
		const refused = answers.find(({ ok }) => !ok);
		expect(refused).toMatchObject({ failure: "rateLimited", retryAfter: 60 });
	});
});
