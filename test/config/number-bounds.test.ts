/** Every number of a setting has bounds, so that a slip of the keyboard is refused and no timer overflows. */
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { AiGatewaySchema } from "../../src/config/ai-gateway.ts";
import { BackendPrice } from "../../src/config/backend-price.ts";
import { jobsSchema } from "../../src/config/jobs.ts";
import { LimitsSchema } from "../../src/config/limits.ts";
import { PoolSetting } from "../../src/config/pools.ts";
import { ResponsesSchema } from "../../src/config/responses.ts";
import { storageSchema } from "../../src/config/storage.ts";
import { SetTimeouts } from "../../src/config/timeouts.ts";
import { GatewayCreate, GatewayUpdate } from "../../src/gateways/settings.ts";

const SCHEMAS: Readonly<Record<string, z.ZodType>> = {
	"a gateway": GatewayCreate(),
	"the update of a gateway": GatewayUpdate(),
	LIMITS: LimitsSchema,
	AI_GATEWAY: AiGatewaySchema,
	JOBS: jobsSchema({}),
	RESPONSES: ResponsesSchema,
	STORAGE: storageSchema({}),
	"a pool": PoolSetting(),
	"the price of a backend": BackendPrice,
	timeouts: SetTimeouts,
};

interface Bounds {
	minimum?: number;
	exclusiveMinimum?: number;
	maximum?: number;
}

/** The paths of the numbers without bounds. zod gives every integer those of a safe one. */
function unbounded(schema: unknown, path = ""): string[] {
	if (typeof schema !== "object" || schema === null) return [];
	const { type } = schema as { type?: unknown };
	const {
		exclusiveMinimum,
		maximum = Number.MAX_SAFE_INTEGER,
		minimum = exclusiveMinimum,
	} = schema as Bounds;
	const isNumber = type === "number" || type === "integer";
	if (
		isNumber &&
		(maximum >= Number.MAX_SAFE_INTEGER || (minimum ?? Number.MIN_SAFE_INTEGER) <= Number.MIN_SAFE_INTEGER)
	)
		return [path];
	return Object.entries(schema).flatMap(([name, value]) => unbounded(value, `${path}/${name}`));
}

describe("the numbers of a setting", () => {
	it.each(Object.entries(SCHEMAS))("are bounded: %s", (_, schema) => {
		const shown = z.toJSONSchema(schema, { io: "input", unrepresentable: "any" });
		expect(JSON.stringify(shown)).toMatch(/"(?:number|integer)"/);
		expect(unbounded(shown)).toEqual([]);
	});

	it("are refused above their bound, with the field", () => {
		const refusal = LimitsSchema.safeParse({ hold_ms: 2 ** 31 }).error?.issues[0];
		expect([refusal?.path, refusal?.code]).toEqual([["hold_ms"], "too_big"]);
		expect(PoolSetting().safeParse({ poll_ms: 2 ** 31 }).success).toBe(false);
		expect(PoolSetting().safeParse({ poll_ms: 2 ** 31 - 1 }).success).toBe(true);
	});
});
