/**
 * The function of the runtime that Node 20 lacks, and that modules of `src/` call, also in the processes of the command. Import it first.
 * `test/node/older-node.test.ts` runs the command without the functions that Node 20 lacks.
 */
Promise.withResolvers ??= <T>(): PromiseWithResolvers<T> => {
	const resolvers = {} as PromiseWithResolvers<T>;
	resolvers.promise = new Promise<T>((resolve, reject) => Object.assign(resolvers, { resolve, reject }));
	return resolvers;
};
