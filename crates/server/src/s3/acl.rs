//! Access lists of buckets and objects, for reading: the owner may do everything, and no other is
//! named. The rights of keys are in the file of keys. Clients ask for a list to find out whether a
//! bucket or an object is there.

use s3s::dto::{
    GetBucketAclInput, GetBucketAclOutput, GetObjectAclInput, GetObjectAclOutput, Grant, Grantee,
    Owner, Permission, Type,
};
use s3s::{S3Request, S3Response, S3Result};

use super::blocking::blocking;
use super::buckets::owner;
use super::operations::Operations;

/// The one entry of each list.
fn grants() -> Vec<Grant> {
    let Owner { display_name, id } = owner();
    let grantee = Grantee {
        display_name,
        email_address: None,
        id,
        type_: Type::from_static(Type::CANONICAL_USER),
        uri: None,
    };
    let permission = Some(Permission::from_static(Permission::FULL_CONTROL));
    vec![Grant { grantee: Some(grantee), permission }]
}

pub(super) async fn of_bucket(
    of: &Operations,
    request: S3Request<GetBucketAclInput>,
) -> S3Result<S3Response<GetBucketAclOutput>> {
    of.check_bucket(&request.input.bucket).await?;
    Ok(S3Response::new(GetBucketAclOutput { grants: Some(grants()), owner: Some(owner()) }))
}

pub(super) async fn of_object(
    of: &Operations,
    request: S3Request<GetObjectAclInput>,
) -> S3Result<S3Response<GetObjectAclOutput>> {
    let (objects, input) = (of.objects(), request.input);
    blocking(move || objects.head(&input.bucket, &input.key)).await?;
    let (grants, owner) = (Some(grants()), Some(owner()));
    Ok(S3Response::new(GetObjectAclOutput { grants, owner, request_charged: None }))
}
