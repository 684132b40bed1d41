import { Select } from "@cloudflare/kumo/components/select";
import { useSession } from "./session.ts";

/** The account of the session. An operator may choose another. */
export function AccountPicker() {
	const { session, setAccount } = useSession();
	const accounts = [...new Set([session.account, ...session.accounts])].sort();
	if (session.access === "account" || accounts.length === 1)
		return (
			<span className="account" title="Account">
				{session.account}
			</span>
		);
	return (
		<Select
			aria-label="Account"
			size="sm"
			value={session.account}
			onValueChange={(account) => account !== null && setAccount(account)}
			items={Object.fromEntries(accounts.map((account) => [account, account]))}
		/>
	);
}
