/** An object with other members in place of some of its own. The other methods keep their object, with its private fields. */
export const withMembers = <Target extends object>(target: Target, members: Partial<Target>): Target =>
	new Proxy(target, {
		get(_, name) {
			if (Object.hasOwn(members, name)) return Reflect.get(members, name);
			const member: unknown = Reflect.get(target, name, target);
			return typeof member === "function" ? member.bind(target) : member;
		},
	});
