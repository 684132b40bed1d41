/** The methods of an object as its callers see them. The runtime's own type of a stub loses unions of results. */
export type RemoteCalls<T> = {
	[Method in keyof T as T[Method] extends (...parameters: never[]) => unknown
		? Method
		: never]: T[Method] extends (...parameters: infer Parameters) => infer Result
		? (...parameters: Parameters) => Promise<Awaited<Result>>
		: never;
};
