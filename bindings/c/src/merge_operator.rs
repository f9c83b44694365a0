//! [`TerraceMergeOperator`]: how operands are combined with values, as a function of the program;
//! and the writes of operands.

use std::ffi::c_void;
use std::mem::MaybeUninit;
use std::sync::Arc;

use terrace::{MergeKey, MergeOperator, MergeRefused};

use crate::TerraceCode;
use crate::batch::TerraceBatch;
use crate::failure::{Failure, given, guard};
use crate::key_space::{TerraceKeySpace, space_of};
use crate::slice::TerraceSlice;
use crate::transaction::TerraceTransaction;
use crate::user_data::{TerraceUserData, UserData};
use crate::value::{clear, hand_over};

/// The longest name of an operator, in bytes.
const NAME_MAX: usize = 255;

/// The bytes that a function of the program makes, filled by `terrace_output_append`.
pub struct TerraceOutput(Vec<u8>);

/// The key of operands that are combined.
#[repr(C)]
pub struct TerraceMergeKey<'a> {
    /// The name of its key space.
    pub key_space: TerraceSlice<'a>,
    /// The key.
    pub key: TerraceSlice<'a>,
}

/// Combines an older value or operand of a key with the next newer operand. `older.data` is null if
/// there is nothing older. The combination is appended to `result`. Returns 0, or anything else to
/// refuse; then `result` may have the reason, as text.
///
/// It must be *associative*: the library groups operands as it likes, and keeps their order. It is
/// called from several threads at once, and more than once for the same operands. It must not call
/// the store, nor leave by `longjmp` or an exception.
pub type TerraceMerge = Option<
    extern "C" fn(
        data: *mut c_void,
        key: &TerraceMergeKey<'_>,
        older: TerraceSlice<'_>,
        newer: TerraceSlice<'_>,
        result: &mut TerraceOutput,
    ) -> u32,
>;

/// A merge operator, for the options of `terrace_store_open`.
pub struct TerraceMergeOperator(pub(crate) Arc<dyn MergeOperator>);

struct Function {
    name: String,
    /// Never null.
    merge: TerraceMerge,
    data: UserData,
}

impl MergeOperator for Function {
    fn name(&self) -> &str {
        &self.name
    }

    fn merge(
        &self,
        key: MergeKey<'_>,
        older: Option<Vec<u8>>,
        newer: &[u8],
    ) -> Result<Vec<u8>, MergeRefused> {
        let space = TerraceSlice::of(key.key_space.as_bytes());
        let key = TerraceMergeKey { key_space: space, key: TerraceSlice::of(key.key) };
        let older = older.as_deref().map_or(TerraceSlice::none(), TerraceSlice::of);
        let mut result = TerraceOutput(Vec::new());
        let merge = self.merge.expect("checked when the operator was made");
        match merge(self.data.pointer(), &key, older, TerraceSlice::of(newer), &mut result) {
            0 => Ok(result.0),
            refusal if result.0.is_empty() => {
                Err(format!("its function returned {refusal}").into())
            }
            _ => Err(String::from_utf8_lossy(&result.0).into_owned().into()),
        }
    }
}

/// Makes a merge operator of a function. `name`: 1 to 255 bytes of UTF-8, which a store remembers
/// from the first operand on; an operator that combines in another way needs another name. The user
/// data is taken over if the call succeeds, and destroyed when the operator was freed and all
/// stores with it are closed. To be freed by `terrace_merge_operator_free`.
#[unsafe(no_mangle)]
pub extern "C" fn terrace_merge_operator_new(
    name: TerraceSlice<'_>,
    merge: TerraceMerge,
    data: TerraceUserData,
    merge_operator: Option<&mut MaybeUninit<*mut TerraceMergeOperator>>,
) -> TerraceCode {
    guard(|| {
        let out = clear(merge_operator, "merge_operator")?;
        let name = name.text("name")?.to_owned();
        given(merge, "merge")?;
        let len = name.len();
        if !(1..=NAME_MAX).contains(&len) {
            let message = format_args!("name: expected 1 to {NAME_MAX} bytes, found {len}");
            return Err(Failure::invalid(message));
        }
        let function = Function { name, merge, data: UserData::new(data) };
        hand_over(out, TerraceMergeOperator(Arc::new(function)));
        Ok(())
    })
}

/// Frees the handle of a merge operator; stores that are open keep the operator. Null is ignored.
#[unsafe(no_mangle)]
pub extern "C" fn terrace_merge_operator_free(merge_operator: Option<Box<TerraceMergeOperator>>) {
    guard(|| {
        drop(merge_operator);
        Ok(())
    });
}

/// Appends bytes to the output of a function of the program.
#[unsafe(no_mangle)]
pub extern "C" fn terrace_output_append(
    output: Option<&mut TerraceOutput>,
    bytes: TerraceSlice<'_>,
) -> TerraceCode {
    guard(|| {
        given(output, "output")?.0.extend_from_slice(bytes.bytes("bytes")?);
        Ok(())
    })
}

/// Writes an operand under a key, without reading it: reads combine it with the value by the
/// store's merge operator. `TERRACE_CODE_OPTION` if the store was opened without one. `durability`
/// is a `TerraceDurability`.
#[unsafe(no_mangle)]
pub extern "C" fn terrace_merge(
    space: Option<&TerraceKeySpace>,
    key: TerraceSlice<'_>,
    operand: TerraceSlice<'_>,
    durability: u32,
) -> TerraceCode {
    guard(|| {
        let space = space_of(space, durability)?;
        Ok(space.merge(key.bytes("key")?, operand.bytes("operand")?)?)
    })
}

/// Adds an operand to a batch, as by `terrace_merge`.
#[unsafe(no_mangle)]
pub extern "C" fn terrace_batch_merge(
    batch: Option<&mut TerraceBatch>,
    space: Option<&TerraceKeySpace>,
    key: TerraceSlice<'_>,
    operand: TerraceSlice<'_>,
) -> TerraceCode {
    guard(|| {
        let (key, operand) = (key.bytes("key")?, operand.bytes("operand")?);
        let (batch, space) = (given(batch, "batch")?, given(space, "space")?);
        batch.0.key_space(&space.0).merge(key, operand);
        Ok(())
    })
}

/// Writes an operand under a key, as by `terrace_merge`, when the transaction is committed. The key
/// does not count as read.
#[unsafe(no_mangle)]
pub extern "C" fn terrace_transaction_merge(
    transaction: Option<&TerraceTransaction>,
    space: Option<&TerraceKeySpace>,
    key: TerraceSlice<'_>,
    operand: TerraceSlice<'_>,
) -> TerraceCode {
    guard(|| {
        let (transaction, space) = (given(transaction, "transaction")?, given(space, "space")?);
        let (key, operand) = (key.bytes("key")?, operand.bytes("operand")?);
        transaction.0.key_space(&space.0)?.merge(key, operand)?;
        Ok(())
    })
}
