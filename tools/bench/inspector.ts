/** V8's inspector of a Worker in workerd, by the Chrome DevTools protocol. */

export interface Inspector {
	/** Calls a method of the protocol, such as `Profiler.start`. Resolves with its result. */
	send(method: string, params?: object): Promise<unknown>;
	close(): void;
}

/** `port`: of the runtime's `inspectorPort`. The first Worker is inspected. */
export async function connectInspector(port: number): Promise<Inspector> {
	const targets = (await (await fetch(`http://127.0.0.1:${port}/json`)).json()) as {
		webSocketDebuggerUrl: string;
	}[];
	const socket = new WebSocket(targets[0]?.webSocketDebuggerUrl ?? "");
	await new Promise((resolve, reject) => {
		socket.addEventListener("open", resolve);
		socket.addEventListener("error", reject);
	});
	const waiting = new Map<number, (result: unknown) => void>();
	socket.addEventListener("message", ({ data }) => {
		const { id, result } = JSON.parse(String(data)) as { id?: number; result?: unknown };
		if (id !== undefined) waiting.get(id)?.(result);
	});
	let next = 0;
	return {
		send: (method: string, params: object = {}) =>
			new Promise<unknown>((resolve) => {
				const id = ++next;
				waiting.set(id, resolve);
				socket.send(JSON.stringify({ id, method, params }));
			}),
		close: () => socket.close(),
	};
}
