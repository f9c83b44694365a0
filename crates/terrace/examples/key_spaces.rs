//! Key spaces and atomic batches: accounts, and an index of them by balance, that never disagree.
//!
//! A key space is a separate ordered map within a store. A batch writes to several of them, as a
//! whole or not at all. So the index fits the accounts after a crash, too.
//!
//! `cargo run -p terrace --example key_spaces`

use terrace::{Batch, Bounds, Db, KeySpace, Options};

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

/// Accounts by name, and an index of them.
struct Bank {
    db: Db,
    accounts: KeySpace,
    /// Keys are the balance, big-endian so that they sort as numbers do, and the name.
    by_balance: KeySpace,
}

impl Bank {
    fn open(db: Db) -> Outcome<Self> {
        let accounts = db.create_key_space("accounts")?;
        let by_balance = db.create_key_space("accounts by balance")?;
        Ok(Self { db, accounts, by_balance })
    }

    fn balance(&self, name: &str) -> Outcome<u64> {
        let Some(value) = self.accounts.get(name.as_bytes())? else { return Ok(0) };
        Ok(u64::from_be_bytes(value[..].try_into()?))
    }

    /// Adds a new balance and its place in the index to a batch.
    fn set(&self, batch: &mut Batch, name: &str, from: u64, to: u64) {
        let index_key = |balance: u64| [&balance.to_be_bytes()[..], name.as_bytes()].concat();
        batch.key_space(&self.accounts).put(name.as_bytes(), &to.to_be_bytes());
        batch.key_space(&self.by_balance).delete(&index_key(from)).put(&index_key(to), b"");
    }

    /// Moves money: two accounts and two entries of the index change together.
    fn transfer(&self, from: &str, to: &str, amount: u64) -> Outcome<()> {
        let (giver, taker) = (self.balance(from)?, self.balance(to)?);
        let left = giver.checked_sub(amount).ok_or("not enough money")?;
        let mut batch = Batch::new();
        self.set(&mut batch, from, giver, left);
        self.set(&mut batch, to, taker, taker + amount);
        Ok(self.db.write(batch)?)
    }

    /// The richest first, from the index alone.
    fn richest(&self, count: usize) -> Outcome<Vec<(String, u64)>> {
        let mut found = Vec::new();
        for entry in self.by_balance.scan(Bounds::all())?.rev().take(count) {
            let (key, _) = entry?;
            let (balance, name) = key.split_at(8);
            let name = String::from_utf8(name.to_vec())?;
            found.push((name, u64::from_be_bytes(balance.try_into()?)));
        }
        Ok(found)
    }
}

fn main() -> Outcome<()> {
    let place = tempfile::tempdir()?;
    let bank = Bank::open(Db::open_directory(place.path().join("bank"), Options::default())?)?;
    let mut batch = Batch::new();
    for (name, balance) in [("ada", 120), ("grace", 80), ("barbara", 200)] {
        bank.set(&mut batch, name, 0, balance);
    }
    bank.db.write(batch)?;

    // A snapshot's view does not change after later writes.
    let before = bank.db.snapshot();
    bank.transfer("barbara", "grace", 150)?;
    assert!(bank.transfer("ada", "grace", 1000).is_err());

    for (name, balance) in bank.richest(3)? {
        println!("{name:8} {balance:>4}");
    }
    assert_eq!(bank.richest(1)?, [("grace".to_owned(), 230)]);
    let then = before.key_space(&bank.accounts)?.get(b"grace")?.ok_or("grace had an account")?;
    assert_eq!(then[..], 80u64.to_be_bytes());

    // Accounts and index agree, entry by entry.
    let accounts = bank.accounts.scan(..)?.count();
    assert_eq!(accounts, bank.by_balance.scan(..)?.count());
    println!("{accounts} accounts in key spaces {:?}", bank.db.key_spaces());
    bank.db.close()?;
    Ok(())
}
