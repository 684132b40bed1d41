import { useEffect, useState } from "react";

/** An address of the file in this page, while the component is shown. */
export function useObjectUrl(file: Blob): string | undefined {
	const [address, setAddress] = useState<string>();
	useEffect(() => {
		const created = URL.createObjectURL(file);
		setAddress(created);
		return () => URL.revokeObjectURL(created);
	}, [file]);
	return address;
}
