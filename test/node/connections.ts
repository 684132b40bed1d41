/** HTTP over raw connections, for the tests of the limit of open files. */
import { once } from "node:events";
import { Agent, request } from "node:http";
import { createConnection, type Socket } from "node:net";

export interface Answer {
	status: number;
	body: string;
}

/** Its status is 0 where the connection broke. */
export function ask(
	port: number,
	path: string,
	token: string,
	body?: unknown,
	headers: Record<string, string> = {},
): Promise<Answer> & { begun: Promise<number> } {
	const begun = Promise.withResolvers<number>();
	const ended = new Promise<Answer>((resolve) => {
		const failed = (): void => {
			begun.resolve(0);
			resolve({ status: 0, body: "" });
		};
		const outgoing = request(
			{
				host: "127.0.0.1",
				port,
				path,
				agent: new Agent(),
				method: body === undefined ? "GET" : "POST",
				headers: { authorization: `Bearer ${token}`, "content-type": "application/json", ...headers },
			},
			(answer) => {
				const { statusCode: status = 0 } = answer;
				begun.resolve(status);
				let text = "";
				answer.on("data", (bytes) => (text += bytes)).on("end", () => resolve({ status, body: text }));
				answer.on("error", failed);
			},
		);
		outgoing.on("error", failed);
		outgoing.end(body === undefined ? undefined : JSON.stringify(body));
	});
	return Object.assign(ended, { begun: begun.promise });
}

/** Resolves when the connection is open, or refused. */
export const connect = (port: number): Promise<Socket> =>
	new Promise((resolve) => {
		const socket = createConnection({ port, host: "127.0.0.1" });
		socket.on("error", () => resolve(socket));
		socket.once("connect", () => resolve(socket));
	});

/** Resolves when the socket has received the text. */
export async function receives(socket: Socket, expected: string): Promise<void> {
	let text = "";
	while (!text.includes(expected)) text += (await once(socket, "data"))[0];
}
