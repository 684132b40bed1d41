/** The tools that the model may call. */
import { tool } from "ai";
import * as z from "zod";

const PRICES = new Map([
	["notebook", 12.5],
	["lamp", 40],
	["desk", 199],
]);

const OPERATIONS = {
	add: (a: number, b: number) => a + b,
	subtract: (a: number, b: number) => a - b,
	multiply: (a: number, b: number) => a * b,
	divide: (a: number, b: number) => a / b,
};

export const calculator = tool({
	description: "Calculate with two numbers: add, subtract, multiply or divide",
	inputSchema: z.object({
		operation: z.enum(["add", "subtract", "multiply", "divide"]),
		a: z.number(),
		b: z.number(),
	}),
	execute: async ({ operation, a, b }) => ({ result: OPERATIONS[operation](a, b) }),
});

export const price = tool({
	description: "Look up the price of a product in the catalog",
	inputSchema: z.object({ product: z.enum(["notebook", "lamp", "desk"]) }),
	execute: async ({ product }) => ({ product, price: `${PRICES.get(product)} euros` }),
});
