/** What a client has to see of a reply. */

export interface ExpectedAnswer {
	text: string;
	reasoning: string;
	/** Names and arguments. */
	calls: [name: string, args: object][];
	finish: string;
}

export const answer = (fields: Partial<ExpectedAnswer>): ExpectedAnswer => ({
	text: "",
	reasoning: "",
	calls: [],
	finish: fields.calls ? "tool_calls" : "stop",
	...fields,
});

export const OSLO: [string, object] = ["get_weather", { city: "Oslo" }];
export const ROME: [string, object] = ["get_weather", { city: "Rome" }];

export const hello = answer({ text: "Hello" });
export const oslo = answer({ calls: [OSLO] });
export const osloAndRome = answer({ calls: [OSLO, ROME] });
